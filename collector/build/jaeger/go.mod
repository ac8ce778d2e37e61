module spanseal/collector/build/jaeger

go 1.26
