"""The bytes of one attempt as they come, and how their reading ended: knows no span's contents.

``response_tee`` lies in the way of the bytes, ``http_attempt`` collects them and decides the ending, ``reader`` tells
whether the program still holds what it reads with, ``open_calls`` ends what nobody ends, ``pace`` times the chunks,
``assembly`` puts a stream together while it is read, ``once`` lets one of several endings win. May
import active, guard, spans, signals and genai.
"""
