"""What an agent may do: functions with a JSON Schema, called behind two gates. May import verification and below.

``tool`` (made by ``signature``, ``annotation``, ``docstring``), ``gates``, ``executor``; ``flow`` writes sync and async
once.
"""
