read -r prompt
case $prompt in
*review*) echo '{"type":"progress","message":"reviews the rounding of fix 7"}' ;;
*"fix 7"* | *"fix 23"* | *"fix 41"*)
	echo '{"type":"progress","message":"works","cost_usd":0.25,"usage":{"tokens_in":5000,"tokens_out":1000}}'
	echo '{"type":"question","id":"q","question":"Round half up?"}'
	;;
*) echo '{"type":"progress","message":"works","cost_usd":0.25,"usage":{"tokens_in":5000,"tokens_out":1000}}' ;;
esac
read -r answer
