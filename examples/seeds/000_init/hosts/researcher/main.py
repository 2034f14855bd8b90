# The seed's middleware, with a stand-in for the client of a model.
import json
import sys


class Client:
    def __init__(self, endpoint):
        self.endpoint = endpoint

    def chat(self, text, model):
        return f"{model} at {self.endpoint} on: {text}"


def create_llm_client(endpoint):
    return Client(endpoint)


def main():
    # Step 1: Read init message
    init_line = sys.stdin.readline().strip()
    init_msg = json.loads(init_line)

    assert init_msg["type"] == "init"
    params = init_msg["params"]

    # Step 2: Acknowledge
    print(json.dumps({"type": "init_ack"}), flush=True)

    # Step 3: Configure with params
    model = params["model"]
    api_endpoint = params["api_endpoint"]
    client = create_llm_client(api_endpoint)

    # Step 4: Handle prompts
    for line in sys.stdin:
        msg = json.loads(line.strip())
        if msg["type"] == "prompt":
            response = client.chat(msg["text"], model=model)
            print(json.dumps({"type": "result", "text": response}), flush=True)


if __name__ == "__main__":
    main()
