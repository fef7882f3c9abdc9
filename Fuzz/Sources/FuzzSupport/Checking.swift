#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Ends the process, for the fuzzer to keep the input, unless `condition` holds.
public func require(
  _ condition: Bool, _ sentence: @autoclosure () -> String, file: StaticString = #file,
  line: UInt = #line
) {
  if !condition { fatalError(sentence(), file: file, line: line) }
}

private let isTracing = unsafe getenv("FUZZ_TRACE") != nil

/// Says what an input does, if `FUZZ_TRACE` is in the environment.
public func trace(_ sentence: @autoclosure () -> String) {
  if !isTracing { return }
  print(sentence())
  // What follows may be a trap.
  fflush(nil)
}
