import asyncio

async def first(token):
    await asyncio.sleep(0.001)
    return token

async def pass_on(before):
    return await before + 1

async def main():
    token = 0
    for _ in range(20):
        last = asyncio.create_task(first(token))
        for _ in range(10000):
            last = asyncio.create_task(pass_on(last))
        token = await last
    print(token)

asyncio.run(main())
