# A host as a shell script. It reads prompts and answers from standard input, and writes
# its progress, questions and result to standard output, one JSON object per line.

# ask MESSAGE sends a question or an approval, waits for the answer, and sets $said to the
# text of its field "value", or to nothing.
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
