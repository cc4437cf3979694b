package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	data "tradewire/interop/gen/datanode/api/v2"
	"tradewire/interop/gen/vega"
	events "tradewire/interop/gen/vega/events/v1"
)

const (
	chunkBytes = 1 << 20
	largeBytes = 3 << 20
	// trades is the number of messages of a stream.
	trades = 1000
)

// servers starts a server for each way to set one up, and gives their URLs.
func servers() map[string]string {
	urls := map[string]string{}
	for name, options := range map[string][]grpc.ServerOption{
		"plain": {grpc.MaxRecvMsgSize(1 << 16)},
		// Connections end by a GOAWAY, and streams on them may go on.
		"aging": {grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: 50 * time.Millisecond, MaxConnectionAgeGrace: 30 * time.Second,
		})},
		// Clients are pinged.
		"pinging": {grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Second, Timeout: time.Second})},
		// Clients must not ping.
		"strict": {grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Hour})},
	} {
		server := grpc.NewServer(options...)
		data.RegisterTradingDataServiceServer(server, service{})
		listener := listen()
		go server.Serve(listener)
		urls[name] = "http://" + listener.Addr().String()
	}
	return urls
}

type service struct {
	data.UnimplementedTradingDataServiceServer
}

func (service) Ping(context.Context, *data.PingRequest) (*data.PingResponse, error) {
	return &data.PingResponse{}, nil
}

// GetStopOrder does what the identifier says.
func (service) GetStopOrder(ctx context.Context, request *data.GetStopOrderRequest) (*data.GetStopOrderResponse, error) {
	answer := func(id string) (*data.GetStopOrderResponse, error) {
		return &data.GetStopOrderResponse{Order: &events.StopOrderEvent{StopOrder: &vega.StopOrder{Id: id}}}, nil
	}
	switch request.OrderId {
	case "details":
		return nil, failure()
	case "header, then details":
		check(grpc.SendHeader(ctx, metadata.Pairs("interop", "sent")))
		return nil, failure()
	case "deadline":
		deadline, ok := ctx.Deadline()
		if !ok {
			return answer("none")
		}
		return answer(fmt.Sprint(time.Until(deadline).Milliseconds()))
	case "slow":
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	case "large":
		return answer(strings.Repeat("x", largeBytes))
	case "gzip":
		if err := grpc.SetSendCompressor(ctx, "gzip"); err != nil {
			return answer("not compressed")
		}
		return answer(strings.Repeat("x", largeBytes))
	case "metadata":
		incoming, _ := metadata.FromIncomingContext(ctx)
		return answer(fmt.Sprintf("%q %x", incoming["interop-text"], incoming["interop-bin"]))
	}
	return answer(request.OrderId)
}

// ExportNetworkHistory streams an archive, with an error where the first block says so.
func (service) ExportNetworkHistory(request *data.ExportNetworkHistoryRequest, stream grpc.ServerStreamingServer[httpbody.HttpBody]) error {
	name := fmt.Sprintf("interop-trades-%d-%d", request.FromBlock, request.ToBlock)
	check(stream.SetHeader(metadata.Pairs("content-disposition", "attachment;filename="+name+".zip")))
	if request.FromBlock == beforeData {
		return failure()
	}
	extensions := []*anypb.Any{must(anypb.New(&structpb.Struct{}))}
	for rest := madeArchive(name + ".csv"); len(rest) > 0; extensions = nil {
		size := min(chunkBytes, len(rest))
		body := &httpbody.HttpBody{ContentType: "application/zip", Data: rest[:size], Extensions: extensions}
		if err := stream.Send(body); err != nil {
			return err
		}
		if request.FromBlock == withinData {
			return failure()
		}
		rest = rest[size:]
	}
	if request.FromBlock == behindData {
		return failure()
	}
	return nil
}

// The first blocks that stand for a place of an error.
const (
	beforeData = 1001
	withinData = 2001
	behindData = 3001
)

// ObserveTrades streams small messages, slowly where a market is named.
func (service) ObserveTrades(request *data.ObserveTradesRequest, stream grpc.ServerStreamingServer[data.ObserveTradesResponse]) error {
	for number := range uint64(trades) {
		trade := &vega.Trade{Id: fmt.Sprint(number), Size: 1<<63 + number, Timestamp: -int64(number)}
		if err := stream.Send(&data.ObserveTradesResponse{Trades: []*vega.Trade{trade}}); err != nil {
			return err
		}
		if len(request.MarketIds) > 0 {
			time.Sleep(2 * time.Millisecond)
		}
	}
	return nil
}

// ObserveAccounts says nothing, until it is left.
func (service) ObserveAccounts(_ *data.ObserveAccountsRequest, stream grpc.ServerStreamingServer[data.ObserveAccountsResponse]) error {
	<-stream.Context().Done()
	return stream.Context().Err()
}

// ObserveEventBus answers each request by an event that has its party, until there are no more.
func (service) ObserveEventBus(stream grpc.BidiStreamingServer[data.ObserveEventBusRequest, data.ObserveEventBusResponse]) error {
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		event := &events.BusEvent{Id: request.PartyId}
		if err := stream.Send(&data.ObserveEventBusResponse{Events: []*events.BusEvent{event}}); err != nil {
			return err
		}
	}
}

// failure is an error with everything that one may have.
func failure() error {
	made, err := status.New(codes.FailedPrecondition, "100 % of »nothing«\nis there").WithDetails(
		&vega.ErrorDetail{Code: 10001, Message: "märkte", Inner: "none"},
		&errdetails.ErrorInfo{Reason: "UNKNOWN_TO_CLIENTS", Domain: "interop"},
	)
	check(err)
	return made.Err()
}

// madeArchive writes an archive of some chunks, whose rows do not compress well.
func madeArchive(name string) []byte {
	random := rand.New(rand.NewSource(1))
	var out bytes.Buffer
	archive := zip.NewWriter(struct{ io.Writer }{&out})
	csv := must(archive.Create(name))
	must(io.WriteString(csv, "id,price\n"))
	for out.Len() < 5*chunkBytes/2 {
		must(fmt.Fprintf(csv, "\\x%016x%016x,%d\n", random.Uint64(), random.Uint64(), random.Uint32()))
	}
	check(archive.Close())
	return out.Bytes()
}
