// The Go side of `npm run test:interop`: grpc-gateway, a server and a client of grpc-go, and archive/zip.
//
//	interop gateway NODE          gateways in front of a node's gRPC address
//	interop server                gRPC servers with fixed answers
//	interop client NODE TASK      a call, and what became of it as JSON
//	interop read FILE             the files of an archive as JSON
//	interop write FILE PATH...    an archive, written as a stream
//
// Servers print their addresses as JSON, and end when standard input does.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"os"
)

func main() {
	log.SetFlags(0)
	task, args := os.Args[1], os.Args[2:]
	switch task {
	case "gateway":
		serve(gateways(args[0]))
	case "server":
		serve(servers())
	case "client":
		print(call(args[0], args[1]))
	case "read":
		print(readArchive(args[0]))
	case "write":
		writeArchive(args[0], args[1:])
	default:
		log.Fatalf("there is no task %q", task)
	}
}

// serve tells where the servers listen, and waits until nobody needs them.
func serve(addresses map[string]string) {
	print(addresses)
	_, err := io.Copy(io.Discard, os.Stdin)
	check(err)
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	return listener
}

func print(value any) {
	check(json.NewEncoder(os.Stdout).Encode(value))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
