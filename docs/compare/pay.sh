# Makes one payment: appends a line to the file payments.txt. If the file `kill` contains "before"
# or "after", the script kills the program that called it, before or after the payment.
point=$(cat kill 2>/dev/null)
rm -f kill
if [ "$point" = before ]; then kill -9 "$PPID"; exit 1; fi
echo "payment made" >> payments.txt
if [ "$point" = after ]; then kill -9 "$PPID"; exit 1; fi
echo paid
