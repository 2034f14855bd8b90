# A host that counts words. Plain lines in, plain lines out; where it wants to
# say more than a result it writes JSON by hand.
while IFS= read -r prompt; do
    if [ -z "$prompt" ]; then
        printf '{"type":"error","message":"there is nothing to count"}\n'
        continue
    fi
    printf '{"type":"progress","message":"counting"}\n'
    set -- $prompt
    echo "$#"
done
