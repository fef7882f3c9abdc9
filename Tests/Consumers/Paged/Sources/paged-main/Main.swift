import Campanile
import Paged

@main
enum Main {
  static func main() async throws {
    try await serve(MessageCenter())
    print("The page is there with the trait.")
  }
}
