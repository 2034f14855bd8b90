# A host as a shell script. It reads prompts from standard input, and writes its progress
# and its result to standard output, one JSON object per line.

while IFS= read -r prompt; do
    echo '{"type":"progress","message":"sawing"}'
    echo '{"type":"progress","message":"screwing"}'
    echo '{"type":"result","text":"a cupboard with two doors","parts":5}'
done
