module github.com/preadmit/preadmit/testdata/clients/jsonschema

go 1.26.0

tool github.com/santhosh-tekuri/jsonschema/cmd/jv

require github.com/santhosh-tekuri/jsonschema v1.2.4 // indirect
