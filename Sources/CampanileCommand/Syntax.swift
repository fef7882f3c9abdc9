/// The commands, with their operands and options.
struct Syntax {
  let name: String
  /// The operands after the name, one word each.
  let operands: [String]
  let options: [Option]
  let summary: String

  static let all = [
    Syntax(
      name: "listen", operands: ["PATTERN"], options: [.group, .json, .count] + Option.ofBus,
      summary: "writes each message whose subject matches, such as 'player.>'"),
    Syntax(
      name: "post", operands: ["SUBJECT", "JSON"], options: Option.ofBus,
      summary: "posts a message, and ends when those on the bus have it"),
    Syntax(
      name: "request", operands: ["SUBJECT", "JSON"], options: [.within] + Option.ofBus,
      summary: "asks, and writes the answer"),
    Syntax(
      name: "peers", operands: [], options: Option.ofBus,
      summary: "writes who else is on the bus"),
    Syntax(
      name: "hub", operands: [], options: [.bus, .folder],
      summary: "stays, and passes the messages of the others on from now on"),
    Syntax(
      name: "bench", operands: [], options: [.count, .bytes] + Option.ofBus,
      summary: "measures messages between two processes"),
    Syntax(
      name: "completion", operands: ["bash|zsh|fish"], options: [],
      summary: "writes what completes commands in a shell"),
    Syntax(name: "help", operands: [], options: [], summary: "writes this text"),
  ]

  /// Throws unless a command line has the right operands, and only options of this command.
  func accept(_ words: Words, _ given: [String]) throws(Arguments.Mistake) {
    let expected = operands.count
    try check(
      given.count <= expected, "'\(given[expected])' is one too many: campanile \(form).")
    try check(
      given.count >= expected, "\(operands[given.count]) is missing: campanile \(form).")
    for option in words.options.keys {
      try check(
        option == .receiver || options.contains(option),
        "\(name) takes no --\(option); see campanile help.")
    }
  }

  private var form: String { ([name] + operands).joined(separator: " ") }

  static var usage: String {
    let commands = all.map { ("  " + $0.form, $0.summary) }
    let options = Option.listed.map { option in
      ("  --\(option)" + (option.value.map { " " + $0 } ?? ""), option.summary)
    }
    let width = (commands + options).map(\.0.count).max() ?? 0
    let lines = { (rows: [(String, String)]) in
      rows.map { $0.0 + String(repeating: " ", count: width + 2 - $0.0.count) + $0.1 }
        .joined(separator: "\n")
    }
    return """
      usage: campanile COMMAND [OPTIONS]

      Speaks with the programs that carry messages on a bus of this host, or on NATS servers.

      \(lines(commands))

      \(lines(options))

      The exit status is 0, or
        1  nobody answered in time, nobody else is on the bus, the message was not sent, or the
           output cannot be written
        2  the command line is wrong
        3  there is no bus to be had
      and 128 + N after the signal N.
      """
  }
}

enum Option: String, CaseIterable, CustomStringConvertible {
  case bus, folder, nats, user, password, nkey, creds, ca
  case group, json, count, within, bytes, version, help
  /// Makes a process the receiver of a measurement.
  ///
  /// For internal use.
  case receiver

  /// How to authenticate at NATS servers, and whom to trust.
  static let ofNATS: [Self] = [.user, .password, .nkey, .creds, .ca]
  static let ofBus = [.bus, .folder, .nats] + ofNATS
  static let listed = allCases.filter { $0 != .receiver }

  var description: String { rawValue }

  /// Whether the value is the path of a file.
  var isFile: Bool { value == "PATH" && self != .folder }

  /// The placeholder of the option's value, if it has one.
  var value: String? { help.value }

  var summary: String { help.summary }

  private var help: (value: String?, summary: String) {
    switch self {
    case .bus: ("NAME", "the bus; default unless said")
    case .folder: ("PATH", "where the buses are; the user's folder unless said")
    case .nats: ("URL", "NATS servers, separated by commas, instead of a bus of this host")
    case .user: ("NAME", "the user at the NATS servers, with --password")
    case .password: ("PATH", "a file with the password of the user")
    case .nkey: ("PATH", "a file with the seed of an NKey for the NATS servers")
    case .creds: ("PATH", "the credentials file for the NATS servers")
    case .ca: ("PATH", "a file with the certificates to trust instead of the system's")
    case .group: ("NAME", "listen: shares the messages with those who name the same group")
    case .json: (nil, "listen: an object a line, with subject, from, version and message")
    case .count: ("N", "listen: ends after N messages; bench: posts N messages")
    case .within: ("SECONDS", "request: waits so long for an answer; 5 unless said")
    case .bytes: ("N", "bench: the length of a message; 128 unless said")
    case .version: (nil, "writes the version")
    case .help: (nil, "writes this text")
    case .receiver: (nil, "")
    }
  }
}
