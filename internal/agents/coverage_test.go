package agents

import (
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

const declarations = `declare namespace coreTypes { export { SDKMessage } }
export declare type SDKMessage = SDKInit | SDKResult;
declare type SDKInit = {
    type: 'system';
    subtype: 'init';
    nested: {
        type: 'hidden';
    };
};
declare type SDKResult = {
    type: 'result';
    subtype: 'success' | 'made_up';
};
declare type SDKNew = {
    type: 'brand_new';
    uuid: string;
};
declare type StdoutMessage = coreTypes.SDKMessage | SDKNew;
declare type Asks = {
    subtype: 'can_use_tool';
};
declare type Novel = {
    subtype: 'novel';
};
declare type SDKControlRequestInner = Asks | Novel;
`

// TestReadDeclarations checks that each message and request of an SDK is found, and that those
// without a row are missing.
func TestReadDeclarations(t *testing.T) {
	all, err := readDeclarations(declarations)
	want := []named{{"message", "brand_new"}, {"message", "result/made_up"}, {"message", "result/success"}, {"message", "system/init"}, {"request", "can_use_tool"}, {"request", "novel"}}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("messages %v (error %v), want %v", all, err, want)
	}
	c := compareCoverage(all, adapter.Coverage("claude-code"))
	if want := []string{"message brand_new", "request novel"}; !slices.Equal(c.Missing, want) || c.Handled != 4 || c.Quiet+c.Refused != 0 {
		t.Errorf("coverage %+v, want %v to be missing", c, want)
	}
	for _, broken := range []string{"SDKNew", "Novel", "SDKMessage"} {
		if _, err := readDeclarations(strings.Replace(declarations, "declare type "+broken+" ", "declare type X ", 1)); err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("declarations without %s: error %v", broken, err)
		}
	}
}

// TestVariants checks that both forms of a fixed value are found.
func TestVariants(t *testing.T) {
	got := variants([]byte(`{"oneOf":[{"properties":{"method":{"enum":["a/b"]}}},{"properties":{"method":{"const":"c"}}},{"properties":{}}]}`), "method")
	if want := []string{"a/b", "c"}; !slices.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
}
