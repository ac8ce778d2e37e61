"""An application that has never heard of spanseal: `python plain.py OPENAI_URL MODEL OLLAMA_URL MODEL`.

Prints what it got, as one JSON list: an answer, one asked for in async code, one in a stream, one of Ollama's, and the
status of a refusal.
"""

import asyncio
import json
import sys
from typing import Any

import ollama
import openai

QUESTION: Any = [{"role": "user", "content": "Name a colour."}]
HOT: Any = "hot"  # a mistake that the server refuses


def main() -> None:
    """Ask in every way that there is."""
    url, model, ollama_url, ollama_model = sys.argv[1:]
    with openai.OpenAI(base_url=url, api_key="sk-not-a-key-but-looks-like-one", max_retries=0) as client:
        whole = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=6)
        usage: Any = {"include_usage": True}
        parts = client.chat.completions.create(
            model=model, messages=QUESTION, max_tokens=6, stream=True, stream_options=usage
        )
        streamed = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
        try:
            client.chat.completions.create(model=model, messages=QUESTION, max_tokens=6, temperature=HOT)
            failed = ""
        except openai.APIStatusError as error:
            failed = str(error.status_code)
    local_client: Any = ollama.Client(ollama_url)
    local = local_client.chat(ollama_model, QUESTION, options={"num_predict": 6})
    awaited = asyncio.run(ask_async(url, model))
    print(json.dumps([whole.choices[0].message.content, awaited, streamed, local.message.content, failed]))


async def ask_async(url: str, model: str) -> str | None:
    """The same with the other client."""
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        answer = await client.chat.completions.create(model=model, messages=QUESTION, max_tokens=6)
        return answer.choices[0].message.content


if __name__ == "__main__":
    main()
