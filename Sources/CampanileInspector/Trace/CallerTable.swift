import Campanile
import Dispatch

#if canImport(Runtime)
  import Runtime
#endif

/// A function in the call stack of a post, with the line of the call.
public struct Caller: Sendable, Hashable, CustomStringConvertible {
  /// The function, as a debugger shows it.
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

/// The distinct call stacks from which values were posted.
///
/// Recognizing a call stack takes about three microseconds, and copying a new one a hundred, so at most
/// 5,000 a second are read, after a burst of 10,000. The first look-up of function names reads the
/// program's debug information, a second for fifty megabytes. Functions of a library that was loaded
/// after the first trace began have no names. Without debug information, functions in extensions of
/// Campanile's types count as Campanile's.
final class CallerTable: Sendable {
  #if canImport(Runtime)
    /// The binary images of the program, captured by the first trace.
    ///
    /// To list them, the standard library reads the header of each mapped file. If another thread
    /// unmaps a file meanwhile, the program stops. So they are listed once, and not while posts are
    /// reported: the first post makes the C library load another library. Under Valgrind, which
    /// maps files that cannot be read, they cannot be listed.
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
      /// The call stacks that are to be looked up elsewhere, and whether that goes on.
      var wanted: Set<UInt32> = []
      var isLookingUp = false
      /// The time from which a whole burst may be read again; each stack that is read delays it.
      private var full: UInt64 = 0

      /// Whether one more call stack may be read, of 5,000 a second after a burst of 10,000.
      mutating func mayRead(at nanoseconds: UInt64) -> Bool {
        let next = max(full, nanoseconds) + 200_000
        if next - nanoseconds > 2_000_000_000 { return false }
        full = next
        return true
      }
    }

    private let state = Locked(State())
    /// The number of different call stacks that are stored; posts with others have no callers.
    private let limit = 4_096
    /// The number of functions that are stored of a call stack: the fingerprint reads four more, some
    /// of which are its own, and functions further out may differ between stacks of one fingerprint.
    #if DEBUG
      private static let depth = 60
    #else
      private static let depth = 28
    #endif

    /// Where call stacks are looked up: for seconds in a large program, so not on Swift's few threads.
    private static let queue = DispatchQueue(label: "campanile.inspector.callers", qos: .utility)

    init() {
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { _ = Program.images }
    }

    /// The number of the calling thread's stack; `nil` if too many were read before.
    func number(at nanoseconds: UInt64) -> UInt32? {
      guard state.withLock({ $0.mayRead(at: nanoseconds) }),
        let fingerprint = CallStack.fingerprint()
      else { return nil }
      let known = state.withLock { state in
        (number: state.numbers[fingerprint], isFull: state.stacks.count >= limit)
      }
      if known.number != nil || known.isFull { return known.number }
      guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return nil }
      let stack = try? Backtrace.capture(limit: Self.depth, top: 0, images: Program.images)
      return state.withLock { state in
        if let number = state.numbers[fingerprint] { return number }
        let number = UInt32(state.stacks.count)
        state.stacks.append(stack)
        state.numbers[fingerprint] = number
        return number
      }
    }

    /// The functions of a call stack, the innermost first, without those that belong to this package.
    func callers(_ number: UInt32) -> [Caller] {
      let (known, stack) = state.withLock { ($0.known[number], $0.stacks[Int(number)]) }
      if let known { return known }
      let callers = stack.map { Self.symbolicate($0) } ?? []
      state.withLock { $0.known[number] = callers }
      return callers
    }

    /// The callers without a wait: `nil` until they have been looked up, on another thread.
    func knownCallers(_ number: UInt32) -> [Caller]? {
      let (known, begins) = state.withLock { state -> ([Caller]?, Bool) in
        if let known = state.known[number] { return (known, false) }
        state.wanted.insert(number)
        defer { state.isLookingUp = true }
        return (nil, !state.isLookingUp)
      }
      if begins {
        Self.queue.async {
          while let number = self.takeWanted() { _ = self.callers(number) }
        }
      }
      return known
    }

    private func takeWanted() -> UInt32? {
      state.withLock { state in
        state.isLookingUp = !state.wanted.isEmpty
        return state.wanted.popFirst()
      }
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    private static func symbolicate(_ stack: Backtrace) -> [Caller] {
      guard let frames = stack.symbolicated()?.frames else { return [] }
      let symbols = frames.compactMap(\.symbol)
      // A bridge posts what Foundation posted: the caller is who called Foundation.
      let rest = symbols.drop {
        belongs($0, to: own) || belongs($0, to: foundation) || $0.isSwiftThunk
      }
      let callers = rest.filter {
        !belongs($0, to: own) && !$0.isSwiftThunk && !$0.isSystemFunction
      }
      return callers.map { symbol in
        Caller(
          function: symbol.name, path: symbol.sourceLocation?.path,
          line: symbol.sourceLocation?.line)
      }
    }

    /// Whether a function is in the source of one of the modules.
    ///
    /// The mangled name begins with the length and the name of the module that declares the function
    /// or the type that it extends. Two letters before them name a type of the standard library,
    /// which the module extends. The name of a function in another module's extension begins with
    /// the module of the type. So the path of the source file decides, if it is known.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    private static func belongs(
      _ symbol: SymbolicatedBacktrace.Symbol, to modules: [String]
    ) -> Bool {
      var name = symbol.rawName.drop { $0 == "_" }.dropFirst(2)
      if name.hasPrefix("S") { name = name.dropFirst(2) }
      guard modules.contains(where: { name.hasPrefix("\($0.utf8.count)\($0)") }) else {
        return false
      }
      // The compiler makes functions that are in no file, such as `<compiler-generated>`.
      guard let path = symbol.sourceLocation?.path, path.hasSuffix(".swift") else { return true }
      // The path of an inlined function may be relative.
      return modules.contains { "/\(path)".contains("/Sources/\($0)/") }
    }

    /// The modules of this package, and the module that captures the stack.
    private static let own = [
      "Campanile", "CampanileFoundation", "CampanileInspector", "CampanileKVO", "CampanileNATS",
      "CampanileNotificationCenter", "CampanileRelay", "Runtime",
    ]
    private static let foundation = ["Foundation", "FoundationEssentials"]
  #else
    func number(at nanoseconds: UInt64) -> UInt32? { nil }
    func callers(_ number: UInt32) -> [Caller] { [] }
    func knownCallers(_ number: UInt32) -> [Caller]? { [] }
  #endif
}
