package main

import (
	"context"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/tmc/grpc-websocket-proxy/wsproxy"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	data "tradewire/interop/gen/datanode/api/v2"
	core "tradewire/interop/gen/vega/api/v1"
)

// gateways starts a gateway for each way to set one up, and gives their URLs.
func gateways(node string) map[string]string {
	conn := must(grpc.NewClient(node,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20))))
	marshaler := &runtime.HTTPBodyMarshaler{Marshaler: &runtime.JSONPb{
		MarshalOptions:   protojson.MarshalOptions{EmitUnpopulated: true},
		UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: true},
	}}
	urls := map[string]string{}
	for name, options := range map[string][]runtime.ServeMuxOption{
		"default":   nil,
		"envelopes": {runtime.WithForwardResponseRewriter(inEnvelope)},
		"raw": {
			runtime.WithMarshalerOption(runtime.MIMEWildcard, undelimited{marshaler}),
			runtime.WithOutgoingHeaderMatcher(withContentDisposition),
		},
	} {
		mux := runtime.NewServeMux(options...)
		check(data.RegisterTradingDataServiceHandler(context.Background(), mux, conn))
		check(core.RegisterCoreServiceHandler(context.Background(), mux, conn))
		check(core.RegisterCoreStateServiceHandler(context.Background(), mux, conn))
		listener := listen()
		go http.Serve(listener, wsproxy.WebsocketProxy(mux))
		urls[name] = "http://" + listener.Addr().String()
	}
	return urls
}

// envelope is a body that the gateway does not know for one, so that it is streamed as any other message.
type envelope struct{ *httpbody.HttpBody }

func inEnvelope(_ context.Context, response proto.Message) (any, error) {
	if body, ok := response.(*httpbody.HttpBody); ok {
		return envelope{body}, nil
	}
	return response, nil
}

// undelimited writes bodies as they are, where the default puts a line's end behind each part, which breaks an archive.
type undelimited struct{ *runtime.HTTPBodyMarshaler }

func (m undelimited) Marshal(value any) ([]byte, error) {
	bytes, err := m.HTTPBodyMarshaler.Marshal(value)
	if _, ok := value.(*httpbody.HttpBody); ok || err != nil {
		return bytes, err
	}
	return append(bytes, '\n'), nil
}

func (undelimited) Delimiter() []byte { return nil }

func withContentDisposition(name string) (string, bool) {
	if name == "content-disposition" {
		return name, true
	}
	return runtime.DefaultHeaderMatcher(name)
}
