// Package crash strikes each flow of the program at each of its boundaries: every commit, and every call to another
// service. At a boundary a connection breaks, a process dies or freezes, an answer is held up, a client hangs up or
// Redis forgets everything; then the client, the background work or both at once bring the flow to its end. However
// that comes about, there has to be one effect, one charge and one answer, and nothing may be left over.
//
// A case is named by its flow, boundary, fault and finisher, such as TestCrash/overage/B3/kill-after/completer. Without
// the build tag slow a part of the cases runs, in which each boundary, each fault and each finisher has its turn.
// Nothing here is part of the service.
package crash
