import Campanile

#if canImport(Runtime)
  import Runtime
#endif

/// A function that a post came through, with the line of the call.
public struct Caller: Sendable, Hashable, CustomStringConvertible {
  /// The function, as the debugger names it.
  public let function: String
  /// The path of the source file, if the program has debug information.
  public let path: String?
  /// The line of the call, if the program has debug information.
  public let line: Int?

  /// The name of the source file, if it is known.
  public var file: String? { path?.split(separator: "/").last.map(String.init) }

  /// The file and the line, and the function.
  public var description: String {
    guard let file, let line else { return function }
    return "\(file):\(line) \(function)"
  }
}

/// The call stacks from which values were posted, each once.
///
/// To recognize a call stack costs a microsecond. To copy it takes a hundred times as long, and is done
/// once for each that is new. Its names are looked up when somebody asks. The first time the debug
/// information of the program is read, which takes a second for one of fifty megabytes. Functions of
/// a library that is loaded after the first trace began have no names.
final class CallerTable: Sendable {
  #if canImport(Runtime)
    /// The files that the program is made of, as the first trace found them.
    ///
    /// To list them, the standard library reads the header of each file that is mapped. If another
    /// thread takes one away meanwhile, the program stops. So they are listed once, and not while
    /// posts are reported: a first post loads a library of the C library's. Under Valgrind, whose own
    /// files are mapped and cannot be read, they cannot be listed.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    private enum Program {
      static let images: ImageMap = {
        _ = CallStack.fingerprint()
        return ImageMap.capture()
      }()
    }

    private struct State {
      var numbers: [UInt64: UInt32] = [:]
      var stacks: [Backtrace?] = []
      var known: [UInt32: [Caller]] = [:]
    }

    private let state = Locked(State())
    /// As many different call stacks are remembered; the posts of others have no callers.
    private let limit = 4_096

    init() {
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { _ = Program.images }
    }

    /// The number of the calling thread's stack.
    func number() -> UInt32? {
      guard let fingerprint = CallStack.fingerprint() else { return nil }
      let known = state.withLock { state in
        (number: state.numbers[fingerprint], isFull: state.stacks.count >= limit)
      }
      if known.number != nil || known.isFull { return known.number }
      guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return nil }
      let stack = try? Backtrace.capture(limit: 64, top: 0, images: Program.images)
      return state.withLock { state in
        if let number = state.numbers[fingerprint] { return number }
        let number = UInt32(state.stacks.count)
        state.stacks.append(stack)
        state.numbers[fingerprint] = number
        return number
      }
    }

    /// The functions of a call stack that are not this package's own, the innermost first.
    func callers(_ number: UInt32) -> [Caller] {
      let (known, stack) = state.withLock { ($0.known[number], $0.stacks[Int(number)]) }
      if let known { return known }
      let callers = stack.map { Self.symbolicate($0) } ?? []
      state.withLock { $0.known[number] = callers }
      return callers
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    private static func symbolicate(_ stack: Backtrace) -> [Caller] {
      guard let frames = stack.symbolicated()?.frames else { return [] }
      let symbols = frames.compactMap(\.symbol)
      // What belongs to the package stands on top: the trace itself and the way to it.
      let rest = symbols.drop { isOwn($0.rawName) || $0.isSwiftThunk }
      return rest.filter { !$0.isSwiftThunk && !$0.isSystemFunction }.map { symbol in
        Caller(
          function: symbol.name, path: symbol.sourceLocation?.path,
          line: symbol.sourceLocation?.line)
      }
    }

    /// Whether a function is part of `Campanile`, of this module, or of what takes the stack.
    ///
    /// Its symbol begins with the name of the module and the length of the name.
    private static func isOwn(_ symbol: String) -> Bool {
      let name = symbol.drop { $0 == "_" }
      return ["$s9Campanile", "$s18CampanileInspector", "$s7Runtime"].contains {
        name.hasPrefix($0)
      }
    }
  #else
    func number() -> UInt32? { nil }
    func callers(_ number: UInt32) -> [Caller] { [] }
  #endif
}
