// A client with Go's own gRPC library, as its documentation has it: client TASK URL [CALLS AT_ONCE]
//
// Prints what it did as JSON, in the form of bench/peers/process.mjs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

const service = "/datanode.api.v2.TradingDataService/"

type result struct {
	Amount  int64   `json:"amount"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
	Peak    float64 `json:"peak"`
}

func main() {
	conn, err := grpc.NewClient(strings.TrimPrefix(os.Args[2], "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	check(err)
	start, cpuStart := time.Now(), cpu()
	var amount int64
	if os.Args[1] == "bytes" {
		amount = readExport(conn)
	} else {
		amount = makeCalls(conn)
	}
	done := result{Amount: amount, Seconds: time.Since(start).Seconds(), CPU: cpu() - cpuStart, Peak: peak()}
	check(json.NewEncoder(os.Stdout).Encode(done))
}

func readExport(conn *grpc.ClientConn) int64 {
	desc := &grpc.StreamDesc{ServerStreams: true}
	stream, err := conn.NewStream(context.Background(), desc, service+"ExportNetworkHistory")
	check(err)
	check(stream.SendMsg(&emptypb.Empty{}))
	check(stream.CloseSend())
	var bytes int64
	for {
		var body httpbody.HttpBody
		err := stream.RecvMsg(&body)
		if errors.Is(err, io.EOF) {
			return bytes
		}
		check(err)
		bytes += int64(len(body.Data))
	}
}

func makeCalls(conn *grpc.ClientConn) int64 {
	calls, err := strconv.Atoi(os.Args[3])
	check(err)
	atOnce, err := strconv.Atoi(os.Args[4])
	check(err)
	var workers sync.WaitGroup
	for worker := range atOnce {
		workers.Go(func() {
			for call := worker; call < calls; call += atOnce {
				var answer emptypb.Empty
				check(conn.Invoke(context.Background(), service+"GetNetworkParameter", &emptypb.Empty{}, &answer))
			}
		})
	}
	workers.Wait()
	return int64(calls)
}

func usage() syscall.Rusage {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return used
}

func cpu() float64 {
	used := usage()
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

func peak() float64 {
	return float64(usage().Maxrss) / 1024
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
