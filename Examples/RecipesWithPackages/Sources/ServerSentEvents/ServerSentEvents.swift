import Campanile
import Hummingbird

struct PriceChanged: MessageCenter.Message { var line: String }

@main struct ServerSentEvents {
  static func main() async throws {
    let center = MessageCenter()
    let router = Router()
    router.get("prices") { _, _ in
      let prices = center.messages(of: PriceChanged.self).values(buffering: .newest(16))
      let body = ResponseBody { writer in
        defer { print("a client missed \(prices.registration.droppedCount)") }
        for await price in prices.cancelOnGracefulShutdown() {
          try await writer.write(ByteBuffer(string: "data: \(price.line)\n\n"))
        }
        try await writer.finish(nil)
      }
      return Response(status: .ok, headers: [.contentType: "text/event-stream"], body: body)
    }
    router.post("prices") { request, _ in
      let body = try await request.body.collect(upTo: 1024)
      center.post(PriceChanged(line: String(buffer: body)))
      return HTTPResponse.Status.noContent
    }
    let port = Int(CommandLine.arguments.last ?? "") ?? 8080
    let address = BindAddress.hostname("127.0.0.1", port: port)
    try await Application(router: router, configuration: .init(address: address)).runService()
  }
}
