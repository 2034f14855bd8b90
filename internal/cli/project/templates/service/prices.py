"""Tools that are commands: for each call, concerto.py runs a function of this file."""
PRICES = {"lamp": 40, "chair": 25}


def price(input, context):
    if input["item"] not in PRICES:
        raise ValueError(f"there is no {input['item']}; there is {', '.join(sorted(PRICES))}")
    return PRICES[input["item"]]
