"""What an agent may do: functions with a JSON Schema, called behind two gates."""
