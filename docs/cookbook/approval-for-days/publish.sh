echo "$1" >> published.txt
echo "published: $1"
