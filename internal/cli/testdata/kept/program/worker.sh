read -r prompt
echo '{"type":"progress","message":"working"}'
echo '{"type":"question","id":"q1","question":"drop?"}'
read -r answer
echo '{"type":"result","text":"tidy"}'
