module spanseal/collector/build/compose

go 1.26
