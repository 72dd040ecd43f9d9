package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "twinlog/engine/pulsar/bookkeeperpb"
)

// Version 3: a packet is one protobuf message, see bookkeeperpb/bookkeeper.proto.

func decodeRequest3(packet []byte) (*Request, error) {
	message := &pb.Request{}
	if err := proto.Unmarshal(packet, message); err != nil {
		return nil, fmt.Errorf("version 3 request: %w: %v", ErrMalformed, err)
	}
	header := message.GetHeader()
	r := &Request{
		Version: Version3, Operation: Operation(header.GetOperation()), Txn: header.GetTxnId(), PreviousLAC: NoLAC,
		HighPriority: header.GetPriority() > 0,
	}
	if header.GetVersion() != pb.ProtocolVersion_VERSION_THREE {
		return r, fmt.Errorf("protobuf request of version %d: %w", header.GetVersion(), ErrVersion)
	}
	if !r.take3(message) {
		return r, fmt.Errorf("version 3 %v: %w", r.Operation, ErrUnknownOperation)
	}
	return r, nil
}

// take3 copies the operation's own message; false: it is missing or nobody knows the operation.
func (r *Request) take3(message *pb.Request) bool {
	switch r.Operation {
	case ReadEntry:
		m := message.GetReadRequest()
		if m == nil {
			return false
		}
		r.Ledger, r.Entry, r.MasterKey = m.GetLedgerId(), m.GetEntryId(), m.GetMasterKey()
		r.Fence = m.Flag != nil && m.GetFlag() == pb.ReadRequest_FENCE_LEDGER
		r.Piggyback = m.Flag != nil && m.GetFlag() == pb.ReadRequest_ENTRY_PIGGYBACK
		if m.PreviousLAC != nil {
			r.PreviousLAC, r.TimeoutMS = m.GetPreviousLAC(), m.GetTimeOut()
		}
	case AddEntry:
		m := message.GetAddRequest()
		if m == nil {
			return false
		}
		r.Ledger, r.Entry, r.MasterKey, r.Body = m.GetLedgerId(), m.GetEntryId(), m.GetMasterKey(), m.GetBody()
		r.Recovery = m.Flag != nil && m.GetFlag() == pb.AddRequest_RECOVERY_ADD
	case Auth:
		m := message.GetAuthRequest()
		if m == nil {
			return false
		}
		r.AuthPlugin, r.Body = m.GetAuthPluginName(), m.GetPayload()
	case WriteLAC:
		m := message.GetWriteLacRequest()
		if m == nil {
			return false
		}
		r.Ledger, r.Entry, r.MasterKey, r.Body = m.GetLedgerId(), m.GetLac(), m.GetMasterKey(), m.GetBody()
	case ReadLAC:
		r.Ledger, r.Entry = message.GetReadLacRequest().GetLedgerId(), LastEntry
		return message.GetReadLacRequest() != nil
	case GetBookieInfo:
		r.Requested = message.GetGetBookieInfoRequest().GetRequested()
	case ForceLedger:
		r.Ledger = message.GetForceLedgerRequest().GetLedgerId()
		return message.GetForceLedgerRequest() != nil
	case ListEntries:
		r.Ledger = message.GetGetListOfEntriesOfLedgerRequest().GetLedgerId()
		return message.GetGetListOfEntriesOfLedgerRequest() != nil
	case StartTLS:
	default:
		return false
	}
	return true
}

func header3(operation Operation, txn uint64) *pb.BKPacketHeader {
	return &pb.BKPacketHeader{
		Version: pb.ProtocolVersion_VERSION_THREE.Enum(), Operation: pb.OperationType(operation).Enum(), TxnId: proto.Uint64(txn),
	}
}

func appendRequest3(frame []byte, r *Request) ([]byte, error) {
	message := &pb.Request{Header: header3(r.Operation, r.Txn)}
	switch r.Operation {
	case ReadEntry:
		m := &pb.ReadRequest{LedgerId: &r.Ledger, EntryId: &r.Entry}
		if r.Fence {
			m.Flag, m.MasterKey = pb.ReadRequest_FENCE_LEDGER.Enum(), r.MasterKey
		}
		if r.Piggyback {
			m.Flag = pb.ReadRequest_ENTRY_PIGGYBACK.Enum()
		}
		if r.PreviousLAC != NoLAC {
			m.PreviousLAC, m.TimeOut = &r.PreviousLAC, &r.TimeoutMS
		}
		message.ReadRequest = m
	case AddEntry:
		m := &pb.AddRequest{LedgerId: &r.Ledger, EntryId: &r.Entry, MasterKey: r.MasterKey, Body: r.Body}
		if r.Recovery {
			m.Flag = pb.AddRequest_RECOVERY_ADD.Enum()
		}
		message.AddRequest = m
	case Auth:
		message.AuthRequest = authMessage(r.AuthPlugin, r.Body)
	case WriteLAC:
		message.WriteLacRequest = &pb.WriteLacRequest{LedgerId: &r.Ledger, Lac: &r.Entry, MasterKey: r.MasterKey, Body: r.Body}
	case ReadLAC:
		message.ReadLacRequest = &pb.ReadLacRequest{LedgerId: &r.Ledger}
	case GetBookieInfo:
		message.GetBookieInfoRequest = &pb.GetBookieInfoRequest{Requested: &r.Requested}
	case ForceLedger:
		message.ForceLedgerRequest = &pb.ForceLedgerRequest{LedgerId: &r.Ledger}
	case ListEntries:
		message.GetListOfEntriesOfLedgerRequest = &pb.GetListOfEntriesOfLedgerRequest{LedgerId: &r.Ledger}
	default:
		return nil, fmt.Errorf("%v in version 3: %w", r.Operation, ErrUnknownOperation)
	}
	return proto.MarshalOptions{}.MarshalAppend(frame, message)
}

func appendResponse3(frame []byte, r *Response) ([]byte, error) {
	status := pb.StatusCode(r.Status).Enum()
	message := &pb.Response{Header: header3(r.Operation, r.Txn), Status: pb.StatusCode_EOK.Enum()}
	if r.Status != OK {
		message.Status = status
	}
	switch r.Operation {
	case ReadEntry:
		m := &pb.ReadResponse{Status: status, LedgerId: &r.Ledger, EntryId: &r.Entry}
		if r.Status == OK && r.Body != nil {
			m.Body = r.Body
		}
		if r.MaxLAC != NoLAC {
			m.MaxLAC = &r.MaxLAC
		}
		message.ReadResponse = m
	case AddEntry:
		message.AddResponse = &pb.AddResponse{Status: status, LedgerId: &r.Ledger, EntryId: &r.Entry}
	case Auth:
		message.AuthResponse = authMessage(r.AuthPlugin, r.Body)
	case WriteLAC:
		message.WriteLacResponse = &pb.WriteLacResponse{Status: status, LedgerId: &r.Ledger}
	case ReadLAC:
		message.ReadLacResponse = &pb.ReadLacResponse{Status: status, LedgerId: &r.Ledger, LacBody: r.ExplicitLAC, LastEntryBody: r.Body}
	case GetBookieInfo:
		message.GetBookieInfoResponse = &pb.GetBookieInfoResponse{Status: status, TotalDiskCapacity: &r.TotalDisk, FreeDiskSpace: &r.FreeDisk}
	case ForceLedger:
		message.ForceLedgerResponse = &pb.ForceLedgerResponse{Status: status, LedgerId: &r.Ledger}
	case ListEntries:
		message.GetListOfEntriesOfLedgerResponse = &pb.GetListOfEntriesOfLedgerResponse{
			Status: status, LedgerId: &r.Ledger, AvailabilityOfEntriesOfLedger: r.Body,
		}
	}
	return proto.MarshalOptions{}.MarshalAppend(frame, message)
}

func decodeResponse3(packet []byte) (*Response, error) {
	message := &pb.Response{}
	if err := proto.Unmarshal(packet, message); err != nil {
		return nil, fmt.Errorf("version 3 response: %w: %v", ErrMalformed, err)
	}
	header := message.GetHeader()
	r := &Response{
		Version: Version3, Operation: Operation(header.GetOperation()), Txn: header.GetTxnId(), Status: Status(message.GetStatus()), MaxLAC: NoLAC,
	}
	inner := pb.StatusCode_EOK
	switch r.Operation {
	case ReadEntry:
		m := message.GetReadResponse()
		r.Ledger, r.Entry, r.Body, inner = m.GetLedgerId(), m.GetEntryId(), m.GetBody(), m.GetStatus()
		if m != nil && m.MaxLAC != nil {
			r.MaxLAC = m.GetMaxLAC()
		}
	case AddEntry:
		m := message.GetAddResponse()
		r.Ledger, r.Entry, inner = m.GetLedgerId(), m.GetEntryId(), m.GetStatus()
	case Auth:
		r.AuthPlugin, r.Body = message.GetAuthResponse().GetAuthPluginName(), message.GetAuthResponse().GetPayload()
	case WriteLAC:
		r.Ledger, inner = message.GetWriteLacResponse().GetLedgerId(), message.GetWriteLacResponse().GetStatus()
	case ReadLAC:
		m := message.GetReadLacResponse()
		r.Ledger, r.ExplicitLAC, r.Body, inner = m.GetLedgerId(), m.GetLacBody(), m.GetLastEntryBody(), m.GetStatus()
	case GetBookieInfo:
		m := message.GetGetBookieInfoResponse()
		r.TotalDisk, r.FreeDisk, inner = m.GetTotalDiskCapacity(), m.GetFreeDiskSpace(), m.GetStatus()
	case ForceLedger:
		r.Ledger, inner = message.GetForceLedgerResponse().GetLedgerId(), message.GetForceLedgerResponse().GetStatus()
	case ListEntries:
		m := message.GetGetListOfEntriesOfLedgerResponse()
		r.Ledger, r.Body, inner = m.GetLedgerId(), m.GetAvailabilityOfEntriesOfLedger(), m.GetStatus()
	}
	if r.Status == OK {
		r.Status = Status(inner)
	}
	return r, nil
}
