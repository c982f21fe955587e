from headrace._cli.main import main

main()
