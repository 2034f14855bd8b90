# A host in plain sh: a prompt comes in, and out goes what it does, asks and at
# last has made, a JSON object a line. Put a program of yours in its place.

# ask MESSAGE: sends a question or an approval, waits, and leaves what was
# answered in $said: the text of the field "value", or nothing.
ask() {
    echo "$1"
    IFS= read -r reply || exit 0
    said=
    case $reply in
        *'"value":"'*)
            said=${reply#*'"value":"'}
            said=${said%%'"'*}
            said=${said%\\}
            ;;
    esac
}

while IFS= read -r prompt; do
    echo '{"type":"progress","message":"looking at the last release"}'

    ask '{"type":"question","id":"q1","question":"Which version is next?","options":["1.0.1","1.1.0"]}'
    version=$said

    ask '{"type":"approval","id":"a1","description":"write the change log","risk_level":"low"}'
    [ "$said" = yes ] && echo '{"type":"progress","message":"the change log is written"}'

    ask '{"type":"approval","id":"a2","description":"delete the old builds","risk_level":"high"}'
    builds=kept
    [ "$said" = yes ] && builds=deleted

    echo "{\"type\":\"result\",\"text\":\"version $version is ready, the old builds are $builds\"}"
done
