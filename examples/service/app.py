"""A shop whose customers are served by an agent. The shop knows the stock and approves orders."""
import asyncio

from concerto import Concerto

shelves = {"lamp": 3, "chair": 0}
addresses = {"ada": "12 Byron Street"}


async def main():
    async with await Concerto.stdio() as concerto:

        @concerto.tool
        def stock(item: str) -> int:
            """How many pieces of an item there are"""
            return shelves[item]

        @concerto.tool(requires_approval=True)
        async def order(item: str, pieces: int, ctx) -> dict:
            """Pack pieces of an item for the customer"""
            left = await ctx.call("stock", {"item": item}) - pieces
            if left < 0:
                raise ValueError(f"there are no {pieces} of {item}")
            for n in range(pieces):
                await ctx.emit("packed", f"{item} {n + 1}")
            shelves[item] = left
            return {"left": left}

        @concerto.on_await("tool:approval")
        def approve(ask):
            if ask["args"]["pieces"] > 10:
                return {"decision": "deny", "reason": "ten pieces at most"}
            return {"decision": "allow", "args_sha256": ask["args_sha256"]}

        concerto.on_await("address", lambda ask: addresses[ask["user"]])

        session = await concerto.run("main.conc", inputs={"item": "lamp", "pieces": 2}, metadata={"user": "ada"})
        async for event in session:
            if event.type == "emit" and event.channel == "packed":
                print("packed:", event.payload)
            elif event.type == "tool" and event.phase == "end":
                print(f"{event.by} called {event.tool}: {event.outcome}")
        print(await session.result())


asyncio.run(main())
