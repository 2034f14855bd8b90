# A host that wants approval before it deletes a branch. It waits for as long as that takes.
while IFS= read -r prompt; do
    prompt=$(printf "%s" "$prompt" | sed -n 's/.*"text":"\([^"]*\)".*/\1/p')
    printf '{"type":"progress","message":"looked at %s"}\n' "$prompt"
    printf '{"type":"approval","id":"a1","tool":"git","description":"delete the branch %s"}\n' "$prompt"
    IFS= read -r answer
    case $answer in
    *yes* | *true*) printf '{"type":"result","value":"%s is deleted"}\n' "$prompt" ;;
    *) printf '{"type":"result","value":"%s stays"}\n' "$prompt" ;;
    esac
done
