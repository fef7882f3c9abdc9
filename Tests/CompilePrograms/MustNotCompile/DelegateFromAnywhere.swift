// expect-error: main actor-isolated instance method 'stop()'
import Campanile

@MainActor protocol Delegate: AnyObject { func stop() }

func call(_ delegates: Multicast<any Delegate>) {
  delegates.call { $0.stop() }
}
