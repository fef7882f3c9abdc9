/// The parsed command line.
struct Arguments {
  static let usage = """
    usage: player [--speed N] [--raw] [--trace FILE] [--inspect] [--relay[=BUS]] [FILE.wav]

    Plays a WAVE file to its observers, without a sound. Without a file it plays a tune on bells.

      --speed N     N times as fast, for example 8 or 0.5
      --raw         writes the samples to standard output, and shows the rest on standard error:
                    swift run player --raw | aplay -f S16_LE -r 22050
      --trace FILE  writes who posted what and who heard it, for ui.perfetto.dev
      --inspect     shows that in a browser while it plays; needs the trait Page:
                    swift run --traits default,Page player --inspect
      --relay[=BUS] tells other processes, on the bus of this name or the default one:
                    swift run campanile listen 'player.>'
      --help        this text

    On a terminal the space bar pauses, and q quits.
    """

  /// An error in the command line, described in one sentence.
  struct Mistake: Error, CustomStringConvertible {
    let description: String
  }

  private(set) var path: String?
  private(set) var speed = 1.0
  /// Whether to write the samples to standard output.
  private(set) var wantsSamples = false
  /// The file to write a trace to.
  private(set) var tracePath: String?
  /// Whether to serve a page that shows what happens.
  private(set) var wantsPage = false
  /// The bus to post to, for other processes.
  private(set) var bus: String?
  private(set) var wantsHelp = false

  /// Parses the arguments that follow the program's name.
  init(_ arguments: some Sequence<String>) throws(Mistake) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--help", "-h":
        wantsHelp = true
      case "--speed":
        let text = rest.popFirst() ?? ""
        guard let speed = Double(text), speed > 0, speed.isFinite else {
          throw Mistake(description: "--speed needs a positive number, not '\(text)'.")
        }
        self.speed = speed
      case "--raw":
        wantsSamples = true
      case "--trace":
        guard let path = rest.popFirst(), !path.isEmpty else {
          throw Mistake(description: "--trace needs the name of the file to write.")
        }
        tracePath = path
      case "--inspect":
        #if Page
          wantsPage = true
        #else
          throw Mistake(
            description: "--inspect needs the trait Page: "
              + "swift run --traits default,Page player --inspect")
        #endif
      case "--relay":
        bus = "default"
      case _ where argument.hasPrefix("--relay="):
        let name = String(argument.drop { $0 != "=" }.dropFirst())
        if name.isEmpty { throw Mistake(description: "--relay= needs the name of a bus.") }
        bus = name
      case _ where argument.hasPrefix("-"):
        throw Mistake(description: "There is no option \(argument); see --help.")
      case _ where path != nil:
        throw Mistake(description: "One file at a time, please: \(argument) is one too many.")
      default:
        path = argument
      }
    }
  }
}
