module spanseal/collector/build/ollama

go 1.26
