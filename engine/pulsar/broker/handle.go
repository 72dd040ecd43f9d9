package broker

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/pulsar/subscription"
)

// handle acts on one command. An error closes the connection: the client broke the protocol.
func (c *connection) handle(command *pulsarpb.BaseCommand, payload []byte, size int) error {
	if !carries(command) {
		return fmt.Errorf("%w: a %v command without its body", errFrame, command.GetType())
	}
	if len(payload) > 0 && command.GetType() != pulsarpb.BaseCommand_SEND {
		return fmt.Errorf("%w: a %v command with a payload", errFrame, command.GetType())
	}
	switch command.GetType() {
	case pulsarpb.BaseCommand_SEND:
		return c.handleSend(command, payload, size)
	case pulsarpb.BaseCommand_FLOW:
		return c.handleFlow(command, size)
	case pulsarpb.BaseCommand_ACK:
		return c.handleAck(command, size)
	case pulsarpb.BaseCommand_PING:
		c.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_PONG.Enum(), Pong: &pulsarpb.CommandPong{}})
		return nil
	case pulsarpb.BaseCommand_PONG:
		return nil
	case pulsarpb.BaseCommand_LOOKUP:
		return c.handleLookup(command, size)
	case pulsarpb.BaseCommand_PARTITIONED_METADATA:
		return c.handlePartitionedMetadata(command, size)
	case pulsarpb.BaseCommand_GET_TOPICS_OF_NAMESPACE:
		return c.handleTopicsOfNamespace(command, size)
	case pulsarpb.BaseCommand_PRODUCER:
		return c.handleProducer(command, size)
	case pulsarpb.BaseCommand_CLOSE_PRODUCER:
		return c.handleCloseProducer(command, size)
	case pulsarpb.BaseCommand_GET_SCHEMA:
		return c.handleGetSchema(command, size)
	case pulsarpb.BaseCommand_GET_OR_CREATE_SCHEMA:
		return c.handleGetOrCreateSchema(command, size)
	case pulsarpb.BaseCommand_TC_CLIENT_CONNECT_REQUEST, pulsarpb.BaseCommand_NEW_TXN:
		return c.refuseTransactions(command)
	}
	return c.handleConsumerCommand(command, size)
}

func (c *connection) handleConsumerCommand(command *pulsarpb.BaseCommand, size int) error {
	switch command.GetType() {
	case pulsarpb.BaseCommand_SUBSCRIBE:
		return c.handleSubscribe(command, size)
	case pulsarpb.BaseCommand_CLOSE_CONSUMER:
		return c.handleCloseConsumer(command, size)
	case pulsarpb.BaseCommand_UNSUBSCRIBE:
		return c.handleUnsubscribe(command, size)
	case pulsarpb.BaseCommand_REDELIVER_UNACKNOWLEDGED_MESSAGES:
		return c.handleRedeliver(command, size)
	case pulsarpb.BaseCommand_SEEK:
		return c.handleSeek(command, size)
	case pulsarpb.BaseCommand_GET_LAST_MESSAGE_ID:
		return c.handleGetLastMessageID(command, size)
	case pulsarpb.BaseCommand_CONSUMER_STATS:
		return c.handleConsumerStats(command, size)
	}
	return fmt.Errorf("%w: a broker does not expect %v", errFrame, command.GetType())
}

// carries tells whether the field that the command's type names is set.
func carries(command *pulsarpb.BaseCommand) bool {
	message := command.ProtoReflect()
	field := message.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(command.GetType()))
	return field != nil && message.Has(field)
}

// refuseTransactions: this broker has no transaction coordinator.
func (c *connection) refuseTransactions(command *pulsarpb.BaseCommand) error {
	id := cmpID(command.GetTcClientConnectRequest(), command.GetNewTxn())
	c.fail(id, pulsarpb.ServerError_NotAllowedError, errors.New("transactions are not enabled on this broker"))
	return nil
}

func cmpID(connect *pulsarpb.CommandTcClientConnectRequest, begin *pulsarpb.CommandNewTxn) uint64 {
	if connect != nil {
		return connect.GetRequestId()
	}
	return begin.GetRequestId()
}

// fail answers a request with ERROR.
func (c *connection) fail(request uint64, code pulsarpb.ServerError, err error) {
	c.send(&pulsarpb.BaseCommand{
		Type:  pulsarpb.BaseCommand_ERROR.Enum(),
		Error: &pulsarpb.CommandError{RequestId: proto.Uint64(request), Error: code.Enum(), Message: proto.String(err.Error())},
	})
}

// succeed answers a request with SUCCESS.
func (c *connection) succeed(request uint64) {
	c.send(&pulsarpb.BaseCommand{
		Type:    pulsarpb.BaseCommand_SUCCESS.Enum(),
		Success: &pulsarpb.CommandSuccess{RequestId: proto.Uint64(request)},
	})
}

// Errors with a number of their own in the protocol.
var (
	errNotServed         = errors.New("not served by this instance")
	errTopicNotFound     = errors.New("Topic not found")
	errProducerBusy      = errors.New("producer is busy")
	errProducerFenced    = errors.New("ProducerFenced: topic is fenced by another exclusive producer")
	errQuotaHold         = errors.New("Cannot create producer on topic with backlog quota exceeded")
	errQuotaException    = errors.New("ProducerBlockedQuotaExceededException: cannot create producer on topic with backlog quota exceeded")
	errNoSubscription    = errors.New("subscription not found")
	errSchema            = errors.New("incompatible schema")
	errTopicClosing      = errors.New("the topic is being closed here")
	errConsumersRemain   = errors.New("Unconnected or shared consumer attempting to unsubscribe")
	errNoSuchConsumer    = errors.New("consumer not found")
	errPartitionRefused  = errors.New("Illegal topic partition name")
	errTopicIsTerminated = errors.New("TopicTerminatedError: the topic is terminated")
)

// serverError maps an error to its number. What is not the client's fault and may pass is MetadataError or PersistenceError;
// ServiceNotReady is only for what looking up again repairs, because clients close the whole connection over it in some answers.
func serverError(err error) pulsarpb.ServerError {
	for _, known := range []struct {
		err  error
		code pulsarpb.ServerError
	}{
		{errNotServed, pulsarpb.ServerError_ServiceNotReady},
		{errTopicClosing, pulsarpb.ServerError_ServiceNotReady},
		{managedledger.ErrFenced, pulsarpb.ServerError_ServiceNotReady},
		{managedledger.ErrClosed, pulsarpb.ServerError_ServiceNotReady},
		{errNoBroker, pulsarpb.ServerError_ServiceNotReady},
		{errTopicNotFound, pulsarpb.ServerError_TopicNotFound},
		{errNoSubscription, pulsarpb.ServerError_SubscriptionNotFound},
		{errNoSuchConsumer, pulsarpb.ServerError_ConsumerNotFound},
		{errProducerBusy, pulsarpb.ServerError_ProducerBusy},
		{errProducerFenced, pulsarpb.ServerError_ProducerFenced},
		{errQuotaException, pulsarpb.ServerError_ProducerBlockedQuotaExceededException},
		{errQuotaHold, pulsarpb.ServerError_ProducerBlockedQuotaExceededError},
		{errTopicIsTerminated, pulsarpb.ServerError_TopicTerminatedError},
		{managedledger.ErrTerminated, pulsarpb.ServerError_TopicTerminatedError},
		{errSchema, pulsarpb.ServerError_IncompatibleSchema},
		{ErrNotAllowed, pulsarpb.ServerError_NotAllowedError},
		{errPartitionRefused, pulsarpb.ServerError_NotAllowedError},
		{ErrBadName, pulsarpb.ServerError_InvalidTopicName},
		{subscription.ErrBusy, pulsarpb.ServerError_ConsumerBusy},
		{subscription.ErrOtherType, pulsarpb.ServerError_ConsumerBusy},
		{subscription.ErrRanges, pulsarpb.ServerError_ConsumerAssignError},
		{managedledger.ErrStorage, pulsarpb.ServerError_PersistenceError},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	return pulsarpb.ServerError_MetadataError
}
