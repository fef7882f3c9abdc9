import CampanileRelay

/// The parsed command line.
struct Arguments {
  /// The command to run.
  enum Command: Equatable {
    case listen(pattern: String, group: String?, json: Bool, count: Int?)
    case post(subject: String, json: String)
    case request(subject: String, json: String, within: Duration)
    case peers
    case hub
    case bench(count: Int, size: Int)
    /// The second process of a measurement, which the first one starts.
    case benchReceiver
    case completion(Shell)
    case help
    case version
  }

  enum Shell: String, CaseIterable {
    case bash, zsh, fish
  }

  /// An error in the command line, described in one sentence.
  struct Mistake: Error, CustomStringConvertible {
    let description: String
  }

  let command: Command
  private(set) var bus = BusName()

  /// Parses the arguments that follow the program's name.
  init(_ arguments: some Sequence<String>) throws(Mistake) {
    let words = try Words(arguments)
    if words.has(.help) || words.positional.first == "help" {
      command = .help
      return
    }
    if words.has(.version) {
      command = .version
      return
    }
    guard let name = words.positional.first else {
      throw Mistake(description: "A command is missing; see campanile help.")
    }
    guard let syntax = Syntax.all.first(where: { $0.name == name }) else {
      throw Mistake(description: "There is no command '\(name)'; see campanile help.")
    }
    let operands = Array(words.positional.dropFirst())
    try syntax.check(words, operands)
    bus = try BusName(words)
    switch name {
    case "listen":
      command = .listen(
        pattern: try Self.pattern(operands[0]), group: try Self.group(try words.text(.group)),
        json: words.has(.json), count: try words.number(.count))
    case "post":
      command = .post(subject: try Self.subject(operands[0]), json: try Self.json(operands[1]))
    case "request":
      command = .request(
        subject: try Self.subject(operands[0]), json: try Self.json(operands[1]),
        within: try words.seconds(.within) ?? .seconds(5))
    case "peers": command = .peers
    case "hub": command = .hub
    case "bench":
      let (count, size) = (try words.number(.count), try words.number(.bytes))
      if let size, size > 1 << 16 {
        throw Mistake(description: "--bytes takes 65536 at the most, not \(size).")
      }
      command =
        words.has(.receiver) ? .benchReceiver : .bench(count: count ?? 200_000, size: size ?? 128)
    default:
      guard let shell = Shell(rawValue: operands[0]) else {
        throw Mistake(
          description: "completion is for bash, zsh and fish, not for '\(operands[0])'.")
      }
      command = .completion(shell)
    }
  }

  private static func pattern(_ text: String) throws(Mistake) -> String {
    if (try? SubjectPattern(validating: text)) != nil { return text }
    throw Mistake(
      description: "'\(text)' is no pattern: it takes tokens with dots between them, * for any "
        + "token, and > at the end for one or more.")
  }

  private static func group(_ name: String?) throws(Mistake) -> String? {
    guard let name, name.utf8.count > 256 else { return name }
    throw Mistake(description: "--group takes 256 bytes at the most, not \(name.utf8.count).")
  }

  private static func subject(_ text: String) throws(Mistake) -> String {
    if SubjectName.isName(text) { return text }
    throw Mistake(
      description: "'\(text)' is no subject: it takes tokens with dots between them, without "
        + "spaces, * and >.")
  }

  private static func json(_ text: String) throws(Mistake) -> String {
    if MessageText.isJSON(Array(text.utf8)) { return text }
    throw Mistake(description: "'\(text)' is no JSON; a text needs quotes: '\"text\"'.")
  }
}

/// The arguments, separated into operands and options.
struct Words {
  private(set) var positional: [String] = []
  private(set) var options: [Option: String] = [:]

  init(_ arguments: some Sequence<String>) throws(Arguments.Mistake) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        positional += rest
        return
      }
      if !argument.hasPrefix("-") || argument == "-" {
        positional.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(String.init)
      let name = parts[0] == "-h" ? "--help" : parts[0]
      guard let option = Option(rawValue: String(name.dropFirst(2))), name.hasPrefix("--") else {
        throw Arguments.Mistake(
          description: "There is no option \(parts[0]); see campanile help. "
            + "What begins with a - and is no option comes after --.")
      }
      if option.value == nil {
        if parts.count > 1 {
          throw Arguments.Mistake(description: "\(name) takes no value.")
        }
        options[option] = ""
        continue
      }
      guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
        throw Arguments.Mistake(description: "\(name) needs a value.")
      }
      options[option] = value
    }
  }

  func has(_ option: Option) -> Bool { options[option] != nil }

  func text(_ option: Option) throws(Arguments.Mistake) -> String? {
    guard let text = options[option] else { return nil }
    if !text.isEmpty { return text }
    throw Arguments.Mistake(description: "--\(option) needs a value that is not empty.")
  }

  func number(_ option: Option) throws(Arguments.Mistake) -> Int? {
    guard let text = options[option] else { return nil }
    if let number = Int(text), number > 0 { return number }
    throw Arguments.Mistake(
      description: "--\(option) needs a whole number from 1 on, not '\(text)'.")
  }

  func seconds(_ option: Option) throws(Arguments.Mistake) -> Duration? {
    guard let text = options[option] else { return nil }
    // At most 30 days.
    if let seconds = Double(text), seconds > 0, seconds <= 2_592_000 { return .seconds(seconds) }
    throw Arguments.Mistake(
      description: "--\(option) needs a positive number of seconds, not '\(text)'.")
  }
}
