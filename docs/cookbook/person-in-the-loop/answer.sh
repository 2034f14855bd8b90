# Answers each question with the next line of decisions.txt.
n=0
while read -r question; do
    n=$((n + 1))
    echo "{\"value\": $(sed -n ${n}p decisions.txt)}"
done
