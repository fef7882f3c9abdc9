import Campanile
import Paged
import Plain

@main
enum Diamond {
  static func main() async throws {
    let center = MessageCenter()
    precondition(ring(center) == 1)
    try await serve(center)
    print("A dependency with the trait and one without it share one Campanile.")
  }
}
