package api

import (
	"fmt"

	"github.com/aws/smithy-go"
)

// The codes of errors that clients of the service branch on.
const (
	codeValidation    = "ValidationException"
	codeInUse         = "ResourceInUse"
	codeNotFound      = "ResourceNotFound"
	codeLimitExceeded = "ResourceLimitExceeded"
	codeSerialization = "SerializationException"
	codeInternal      = "InternalFailure"
	codeUnknown       = "UnknownOperationException"
)

// clientError is an error with the service's code that is the caller's fault.
func clientError(code, format string, args ...any) error {
	return &smithy.GenericAPIError{Code: code, Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient}
}

func invalid(format string, args ...any) error {
	return clientError(codeValidation, format, args...)
}

func serialization(format string, args ...any) error {
	return clientError(codeSerialization, format, args...)
}

// internal is an error that is nobody's fault but ours.
func internal(what string, err error) error {
	return &smithy.GenericAPIError{Code: codeInternal, Message: what + ": " + err.Error(), Fault: smithy.FaultServer}
}
