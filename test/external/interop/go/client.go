package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	data "tradewire/interop/gen/datanode/api/v2"
	core "tradewire/interop/gen/vega/api/v1"
	events "tradewire/interop/gen/vega/events/v1"
)

// outcome is what became of a call: the messages, or the bytes, and the status where it failed.
type outcome struct {
	Messages []json.RawMessage `json:"messages,omitempty"`
	Bytes    int               `json:"bytes,omitempty"`
	SHA256   string            `json:"sha256,omitempty"`
	Name     []string          `json:"name,omitempty"`
	Error    json.RawMessage   `json:"error,omitempty"`
}

// call does a task against a node.
func call(node, task string) outcome {
	conn := must(grpc.NewClient(node,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20))))
	defer conn.Close()
	client := data.NewTradingDataServiceClient(conn)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	first := int32(20)
	page := &data.ListMarketsRequest{Pagination: &data.Pagination{First: &first}}
	switch task {
	case "unary":
		return one(client.ListMarkets(ctx, page))
	case "unary, gzip":
		return one(client.ListMarkets(ctx, page, grpc.UseCompressor(gzip.Name)))
	case "core":
		return one(core.NewCoreServiceClient(conn).LastBlockHeight(ctx, &core.LastBlockHeightRequest{}))
	case "too large":
		return one(client.ListMarkets(ctx, page, grpc.MaxCallRecvMsgSize(100)))
	case "not found":
		return one(client.GetStopOrder(ctx, &data.GetStopOrderRequest{OrderId: hex.EncodeToString(make([]byte, 32))}))
	case "invalid":
		return exported(client.ExportNetworkHistory(ctx, &data.ExportNetworkHistoryRequest{FromBlock: 2, ToBlock: 7, Table: data.Table_TABLE_TRADES}))
	case "unimplemented":
		return one(core.NewCoreServiceClient(conn).PropagateChainEvent(ctx, &core.PropagateChainEventRequest{}))
	case "no such method":
		answer := &data.PingResponse{}
		return one(answer, conn.Invoke(ctx, "/datanode.api.v2.TradingDataService/Nothing", &data.PingRequest{}, answer))
	case "export":
		return exported(client.ExportNetworkHistory(ctx, &data.ExportNetworkHistoryRequest{FromBlock: 1, ToBlock: 4000, Table: data.Table_TABLE_TRADES}))
	case "deadline":
		soon, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		return one(client.ListMarkets(soon, page))
	case "deadline of a stream":
		soon, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		return messages(client.ObserveTrades(soon, &data.ObserveTradesRequest{}))
	case "cancel":
		soon, cancel := context.WithCancel(ctx)
		stream, err := client.ObserveAccounts(soon, &data.ObserveAccountsRequest{})
		check(err)
		must(stream.Recv())
		cancel()
		for err == nil {
			_, err = stream.Recv()
		}
		return outcome{Error: told(err)}
	case "bus":
		stream := must(client.ObserveEventBus(ctx))
		check(stream.Send(&data.ObserveEventBusRequest{Type: []events.BusEventType{events.BusEventType_BUS_EVENT_TYPE_END_BLOCK}}))
		answer, err := stream.Recv()
		check(stream.CloseSend())
		return one(answer, err)
	}
	log.Fatalf("there is no task %q", task)
	return outcome{}
}

func one(message proto.Message, err error) outcome {
	if err != nil {
		return outcome{Error: told(err)}
	}
	return outcome{Messages: []json.RawMessage{must(protojson.Marshal(message))}}
}

func messages[T any](stream grpc.ServerStreamingClient[T], err error) outcome {
	check(err)
	read := outcome{}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return read
		}
		if err != nil {
			read.Error = told(err)
			return read
		}
		read.Messages = append(read.Messages, must(protojson.Marshal(any(message).(proto.Message))))
	}
}

func exported(stream data.TradingDataService_ExportNetworkHistoryClient, err error) outcome {
	check(err)
	read, hash := outcome{}, sha256.New()
	for {
		body, err := stream.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				read.Error = told(err)
			}
			header := must(stream.Header())
			read.Name = header.Get("content-disposition")
			read.SHA256 = hex.EncodeToString(hash.Sum(nil))
			return read
		}
		read.Bytes += must(hash.Write(body.Data))
	}
}

// told gives the status of an error in Protobuf's JSON, where the types of its details are known.
func told(err error) json.RawMessage {
	return must(protojson.Marshal(status.Convert(err).Proto()))
}
