def main():
    text = "Καλημέρα κόσμε — “well”, 你好。 " * 34483
    n = len(text)
    quotes = 0
    words = 0
    for i in range(n):
        if text[i] == "“":
            quotes += 1
        if i % 10 == 0 and i + 4 <= n and text[i:i + 4] == "κόσμ":
            words += 1
    print(n, quotes, words)

main()
