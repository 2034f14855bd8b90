package stdlib

import "testing"

// TestCrypto compares digests with the test vectors of FIPS 180, RFC 1321 and RFC 4231.
func TestCrypto(t *testing.T) {
	run(t, []call{
		{"crypto.sha256", `[""]`, `"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`, ""},
		{"crypto.sha256", `["abc"]`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`, ""},
		{"crypto.sha256", `["é"]`, `"4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"`, ""},
		{"crypto.sha512", `["abc"]`, `"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"`, ""},
		{"crypto.sha1", `["abc"]`, `"a9993e364706816aba3e25717850c26c9cd0d89d"`, ""},
		{"crypto.md5", `["abc"]`, `"900150983cd24fb0d6963f7d28e17f72"`, ""},
		{"crypto.hmac_sha256", `["Jefe", "what do ya want for nothing?"]`, `"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"`, ""},
		{"crypto.hmac_sha256", `["", ""]`, `"b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"`, ""},
		{"crypto.base64_encode", `[""]`, `""`, ""},
		{"crypto.base64_encode", `["fo"]`, `"Zm8="`, ""},
		{"crypto.base64_encode", `["é?>"]`, `"w6k/Pg=="`, ""},
		{"crypto.base64_decode", `[""]`, `""`, ""},
		{"crypto.base64_decode", `["Zm8="]`, `"fo"`, ""},
		{"crypto.base64_decode", `["Zm8"]`, `"fo"`, ""},
		{"crypto.base64_decode", `["w6k/Pg=="]`, `"é?>"`, ""},
		{"crypto.base64_decode", `["w6k_Pg=="]`, `ParseError: "w6k_Pg==" is not Base64`, ""},
		{"crypto.base64_decode", `["Zm9="]`, `ParseError: "Zm9=" is not Base64`, ""},
		{"crypto.base64_decode", `["Zm8=="]`, `ParseError: "Zm8==" is not Base64`, ""},
		{"crypto.base64_decode", `["===="]`, `ParseError: "====" is not Base64`, ""},
		{"crypto.base64_decode", `["Zm8=\n"]`, `ParseError: "Zm8=\n" is not Base64`, ""},
		{"crypto.base64_decode", `["/w=="]`, `ParseError: "/w==" encodes bytes that are not UTF-8`, ""},
		{"crypto.hex_encode", `["aé"]`, `"61c3a9"`, ""},
		{"crypto.hex_decode", `["61C3a9"]`, `"aé"`, ""},
		{"crypto.hex_decode", `[""]`, `""`, ""},
		{"crypto.hex_decode", `["6"]`, `ParseError: "6" is not hex`, ""},
		{"crypto.hex_decode", `["6g"]`, `ParseError: "6g" is not hex`, ""},
		{"crypto.hex_decode", `["ff"]`, `ParseError: "ff" encodes bytes that are not UTF-8`, ""},
		{"crypto.constant_time_eq", `["", ""]`, `true`, ""},
		{"crypto.constant_time_eq", `["ab", "ab"]`, `true`, ""},
		{"crypto.constant_time_eq", `["ab", "ac"]`, `false`, ""},
		{"crypto.constant_time_eq", `["ab", "abc"]`, `false`, ""},
		{"crypto.__hex", `[[0, 255]]`, `"00ff"`, ""},
		{"crypto.__uuid", `[[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]]`, `"00010203-0405-4607-8809-0a0b0c0d0e0f"`, ""},
	})
}
