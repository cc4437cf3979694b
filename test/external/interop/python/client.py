"""grpcio's side of `npm run test:interop`: client.py NODE TASK prints what became of a call as JSON."""

import hashlib
import json
import sys
import zipfile

import grpc
from datanode.api.v2 import trading_data_pb2 as data
from datanode.api.v2 import trading_data_pb2_grpc as services
from google.protobuf.json_format import MessageToDict
from google.rpc import status_pb2
from vega import vega_pb2  # noqa: F401 (details of errors are of its types)


def listing(client):
    request = data.ListMarketsRequest(pagination=data.Pagination(first=20))
    return {"messages": [MessageToDict(client.ListMarkets(request, timeout=30))]}


def export(client):
    """Save an export, and open it with zipfile."""
    request = data.ExportNetworkHistoryRequest(from_block=1, to_block=4000, table=data.TABLE_TRADES)
    with open(sys.argv[3], "wb") as file:
        for body in client.ExportNetworkHistory(request, timeout=30):
            file.write(body.data)
    with zipfile.ZipFile(sys.argv[3]) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
    with open(sys.argv[3], "rb") as file:
        return {"names": names, "sha256": hashlib.sha256(file.read()).hexdigest()}


def not_found(client):
    client.GetStopOrder(data.GetStopOrderRequest(order_id="00" * 32), timeout=30)


def invalid(client):
    list(client.ExportNetworkHistory(data.ExportNetworkHistoryRequest(from_block=2, to_block=7, table=data.TABLE_TRADES)))


def deadline(client):
    client.ListMarkets(data.ListMarketsRequest(), timeout=0.5)


def cancel(client):
    stream = client.ObserveAccounts(data.ObserveAccountsRequest(), timeout=30)
    next(stream)
    stream.cancel()
    for _ in stream:
        pass


def told(error):
    """The error's status with its details."""
    trailers = dict(error.trailing_metadata() or ())
    if "grpc-status-details-bin" in trailers:
        return MessageToDict(status_pb2.Status.FromString(trailers["grpc-status-details-bin"]))
    return {"code": error.code().value[0], "message": error.details()}


def main():
    tasks = [listing, export, not_found, invalid, deadline, cancel]
    task = next(task for task in tasks if task.__name__ == sys.argv[2])
    with grpc.insecure_channel(sys.argv[1]) as channel:
        try:
            done = task(services.TradingDataServiceStub(channel))
        except grpc.RpcError as error:
            done = {"error": told(error)}
    print(json.dumps(done))


main()
