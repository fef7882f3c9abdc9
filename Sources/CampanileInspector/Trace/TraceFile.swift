import Campanile

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Trace {
  /// Writes the kept events to a file in the trace-event format.
  ///
  /// Perfetto's interface (<https://ui.perfetto.dev>) and `chrome://tracing` open such files:
  ///
  /// | in the file | is |
  /// |---|---|
  /// | a track | a thread, or an asynchronous observer |
  /// | a slice | a post, or a call; slices are nested as they were |
  /// | an arrow | the way of a delivery from its post to its call elsewhere |
  /// | a counter | what waits at a delivery |
  /// | a mark | something dropped, skipped, failed, registered or ended |
  ///
  /// The arguments of a slice are the number of the post, its caller, and its cause.
  ///
  /// The format is described in the document "Trace Event Format" of the Chromium project.
  ///
  /// An existing file is replaced when the new one is complete. If writing fails, the existing file
  /// stays as it was. A device or a symbolic link, such as `/dev/stdout`, is written to and not
  /// replaced.
  ///
  /// - Complexity: O(*n* log *n*) in the number of kept events; a second for a hundred thousand.
  /// - Throws: Errors of writing the file.
  public func write(to path: String) throws {
    let content = try Data(json().utf8)
    let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    let isReplaced = type == nil || type == .typeRegular
    try content.write(to: URL(filePath: path), options: isReplaced ? .atomic : [])
  }

  /// The content of the file, as text.
  public func json() throws -> String {
    var file = TraceFile()
    var writer = TraceWriter(storage)
    file.traceEvents = writer.entries()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    return String(decoding: try encoder.encode(file), as: UTF8.self)
  }
}

/// A file in the trace-event format.
struct TraceFile: Encodable {
  var displayTimeUnit = "ns"
  var traceEvents: [TraceEntry] = []
}

/// One object of the format.
///
/// Times are in microseconds.
struct TraceEntry: Encodable {
  enum Phase: String, Encodable {
    case slice = "X"
    case mark = "i"
    case counter = "C"
    case name = "M"
    case arrowStart = "s"
    case arrowEnd = "f"
  }

  /// An argument of a slice.
  enum Argument: Encodable {
    case text(String)
    case number(UInt64)

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .number(let number): try container.encode(number)
      }
    }
  }

  // These are the names of the format.
  var ph: Phase
  var name: String
  var cat: String?
  var pid: Int32
  var tid: UInt64
  var ts: Double = 0
  var dur: Double?
  var id: UInt64?
  /// Binds the end of an arrow to the enclosing slice, and not to the next one.
  var bp: String?
  /// The scope of a mark: its thread.
  var s: String?
  var args: [String: Argument]?
}
