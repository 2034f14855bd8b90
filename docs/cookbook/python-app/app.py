"""A shop: the tools live in this process, the agent in main.conc."""
import asyncio

from concerto import Concerto

shelves = {"lamp": 3, "chair": 80}


async def main():
    async with await Concerto.stdio() as concerto:

        @concerto.tool
        def stock(item: str) -> int:
            """How many pieces of an item there are"""
            return shelves[item]

        @concerto.tool(requires_approval=True)
        def order(item: str, pieces: int) -> str:
            """Order pieces of an item for the customer"""
            shelves[item] -= pieces
            return f"{pieces} of {item} ordered"

        @concerto.on_await("tool:approval")
        def approve(ask):
            if ask["args"]["pieces"] > 10:
                return {"decision": "deny", "reason": "ten pieces at most"}
            return {"decision": "allow", "args_sha256": ask["args_sha256"]}

        for text in ["Two lamps, please.", "50 chairs, please."]:
            session = await concerto.run("main.conc", inputs={"customer": "Ada", "text": text})
            async for event in session:
                if event.type == "tool" and event.phase == "end":
                    print(f"  {event.tool}: {event.outcome}")
            print(await session.result())
        print(shelves)


asyncio.run(main())
