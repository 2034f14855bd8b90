# A host that counts words. Plain lines in, plain lines out; an error is a
# message, behind which only messages count.
while IFS= read -r prompt; do
    if [ -z "$prompt" ]; then
        printf '{"type":"error","message":"there is nothing to count"}\n'
        continue
    fi
    set -- $prompt
    echo "$#"
done
